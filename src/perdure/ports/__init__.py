"""What the services need of the outside world, in domain verbs."""
