"""What a run reports while it trains: throughput, reports to listeners, log files."""
