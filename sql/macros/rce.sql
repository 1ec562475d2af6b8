-- rce: the reconstruction error of a record: how far a guess of its original cells is off
-- reads   leaves    a list with, for each column, the number of values the released one stands for:
--                   1 for one that is released as it is
--         p         how probably the record is real, as its reader knows
--         "real"    whether it is
-- gives   DOUBLE from 0 to 1: the mean over the columns of 1 - 2 p / leaves + p² / leaves, of a
--         counterfeit record that of p² / leaves (after Lee, Kim and Chung 2017); NULL where an
--         argument is NULL or the list empty; an error for leaves below 1, NULL or not finite, and
--         for a p that is no probability
-- example SELECT deid.rce([1, 2])  -- 0.25
CREATE OR REPLACE MACRO deid.rce(leaves, p := 1, "real" := true) AS
-- the lambda names what is given, and ['x'] is written for .x, so that no column of the caller is
-- taken for one of these names
list_transform(
  [struct_pack(
    is_listed := leaves IS NULL OR TRY_CAST(leaves AS DOUBLE[]) IS NOT NULL,
    leaves := TRY_CAST(leaves AS DOUBLE[]),
    told := list_avg(list_transform(TRY_CAST(leaves AS DOUBLE[]), lambda one: 1 / one)),
    has_p := p IS NOT NULL,
    p := TRY_CAST(p AS DOUBLE),
    is_real := CAST("real" AS BOOLEAN)
  )],
  lambda given: CASE
    WHEN NOT given['is_listed']
      THEN error('deid.rce: leaves must be a list of numbers, such as [1, 2]')
    WHEN len(
      list_filter(given['leaves'], lambda one: NOT coalesce(one >= 1 AND isfinite(one), false))
    ) > 0
      THEN error('deid.rce: leaves must be finite, 1 or more, and none of them NULL')
    WHEN given['has_p'] AND NOT coalesce(given['p'] BETWEEN 0 AND 1, false)
      THEN error('deid.rce: p must be from 0 to 1')
    WHEN given['is_real'] THEN 1 - (2 - given['p']) * given['p'] * given['told']
    WHEN NOT given['is_real'] THEN given['p'] * given['p'] * given['told']
  END
)[1];
