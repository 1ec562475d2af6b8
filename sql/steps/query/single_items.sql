-- query/single_items: as query_items, where each item has one row for each key
-- reads   __outcomes__   item, __key__, records, weight, sure, ways, hits, mass, total, low, high
-- gives   item, __key__, records, weight, certain, mass, total, low, high
SELECT
  item,
  __key__,
  records,
  weight,
  hits = ways AND sure AND weight = 1 AS certain,
  mass * weight AS mass,
  total * weight AS total,
  low,
  high
FROM __outcomes__
