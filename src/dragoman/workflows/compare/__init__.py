"""Several systems side by side: trained with equal budgets, measured, and shown on one page."""
