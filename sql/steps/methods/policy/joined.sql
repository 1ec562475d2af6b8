-- methods/policy/joined: the cells of each two neighbouring intervals of an attribute, as if they were one
-- reads   __cells__   the cells of a policy: __own__ (interval of the attribute), __others__
--                     (intervals of the others), records, people
-- gives   place (the first of the two), intervals (2), records, people              one row a cell
SELECT
  cell.__own__ + side.shift AS place,
  2 AS intervals,
  sum(cell.records) AS records,
  sum(cell.people) AS people
FROM __cells__ AS cell
CROSS JOIN (VALUES (0), (-1)) AS side(shift)
GROUP BY cell.__own__ + side.shift, cell.__others__
HAVING sum(cell.records) > 0
