-- privacy/item_sets: the fewest records of a class that share what who knows some of its items knows
-- reads   __held__     one row per class and value: class, size, value (a text that lists items), count
--         $known       how many items are known at most
--         $separator   what stands between two items; blanks around an item are no part of it
-- gives   k            one row: the least of the sizes of classes, and of the records of a class that
--                      hold any items of one of them, at most so many; NULL for an empty table
WITH RECURSIVE numbered AS (
  SELECT class, size, count, CAST(value AS VARCHAR) AS listed, row_number() OVER () AS entry
  FROM __held__
),
items AS (
  SELECT DISTINCT entry, class, count, trim(item, ' ') AS item
  FROM (
    SELECT entry, class, count, unnest(string_split(listed, $separator)) AS item
    FROM numbered
  )
  WHERE trim(item, ' ') <> ''
),
chosen AS (
  SELECT entry, class, count, [item] AS items, item AS latest
  FROM items
  UNION ALL
  SELECT c.entry, c.class, c.count, list_append(c.items, i.item) AS items, i.item AS latest
  FROM chosen AS c
  JOIN items AS i
    ON i.entry = c.entry AND i.item > c.latest
  WHERE len(c.items) < $known
),
shared AS (
  SELECT sum(count) AS records
  FROM chosen
  GROUP BY class, items
)
SELECT CAST(min(records) AS BIGINT) AS k
FROM (
  SELECT records FROM shared
  UNION ALL
  SELECT size FROM numbered
)
