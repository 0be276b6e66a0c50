"""What container runtimes ask of the plugin: to bring an interface into the pod that a container is for."""
