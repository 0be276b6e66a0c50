"""What is wrong with claims, classes and pods, found without a scheduler: all of it, each with its place.

``validate`` takes documents. Configurations are judged by ``scheduler_core.frontends.configuration``, so that
the sentences are those of the plugin.
"""
