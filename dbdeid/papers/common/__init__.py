"""What the experiments share: their data, what they find, and how it is drawn."""
