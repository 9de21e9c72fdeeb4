"""What is known about a kernel: named values with unit and source, and the arithmetic on them."""
