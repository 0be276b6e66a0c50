"""What ``tangram explain`` says of claims that do not fit, of one node, and of one device."""
