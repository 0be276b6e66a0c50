"""The webhook under load: its server in this process, its clients in another one."""
