-- privacy/basic_beta: the greatest gain (p - q) / q of a sensitive value by knowing its class
-- reads   __shares__   one row per class and value: size, count, known, people
-- gives   beta         one row; NULL for an empty table
SELECT max((count * people - known * size) / (known * size)) AS beta
FROM __shares__
