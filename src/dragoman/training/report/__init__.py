"""What a run tells while it trains: throughput, reports to listeners, log files."""
