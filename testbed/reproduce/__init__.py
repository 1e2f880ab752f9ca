"""Papers again: their experiments on our plants, figure beside figure."""
