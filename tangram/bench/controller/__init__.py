"""``tangram bench controller``: pods per second, with kube-scheduler and with the controller allocating."""
