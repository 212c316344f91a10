"""What makes parts of ``tablerec`` known to other programs."""
