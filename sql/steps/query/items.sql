-- query/items: what each group of equal released records adds to each group of the answer
-- reads   __outcomes__   item, __key__, records, weight, sure, ways, hits, mass, total, low, high: one
--         or several rows for each item (records of equal released values) and key
-- gives   item, __key__, records, weight (the chance that a record is real), certain (each record
--         counts whatever it stands for), mass (its expected share), total (its expected argument
--         times that), low and high (of the argument)
SELECT
  item,
  __key__,
  ANY_VALUE(records) AS records,
  ANY_VALUE(weight) AS weight,
  SUM(hits) = ANY_VALUE(ways) AND ANY_VALUE(sure) AND ANY_VALUE(weight) = 1 AS certain,
  SUM(mass) * ANY_VALUE(weight) AS mass,
  SUM(total) * ANY_VALUE(weight) AS total,
  MIN(low) AS low,
  MAX(high) AS high
FROM __outcomes__
GROUP BY item, __key__
