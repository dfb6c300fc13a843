"""What other toolkits leave on disk: which kind of model it is, its settings, pieces, languages and origin."""
