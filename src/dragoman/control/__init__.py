"""Control of any engine, without torch: glossary terms, forced phrases, minimum Bayes risk, faults and retries."""
