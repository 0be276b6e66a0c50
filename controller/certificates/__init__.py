"""The certificates of the webhook: an authority and a certificate of its own, kept in a Secret.

The stored bytes and the time go in; what to store and which authorities the API server is to trust come out
(docs/decisions/0061-webhook-server.md). Private keys are in no message.
"""
