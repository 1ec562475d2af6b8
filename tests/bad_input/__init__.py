"""Bad input, exhaustively: tables of cases by room, and one runner that checks every promise."""
