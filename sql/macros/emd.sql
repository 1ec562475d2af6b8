-- emd: the earth mover's distance between two distributions over the same values
-- reads   p       a list of shares or counts, one a value; divided by its sum
--         q       the same for the other distribution, the values in the same order
--         kind    equal: all values are as far apart, half the sum of |p - q|; ordered: as far as
--                 their places in the list, the sum of |cumulative p - cumulative q| over their
--                 number - 1 (Li et al. 2007)
-- gives   DOUBLE from 0 to 1; NULL where p or q is NULL, empty or all 0; an error for another kind,
--         lists of different lengths, and a share that is negative, NULL or not finite
-- example SELECT deid.emd([3, 1], [1, 1])  -- 0.25
CREATE OR REPLACE MACRO deid.emd(p, q, kind := 'equal') AS
-- each lambda names what the one before made, and nothing of those around it; the arguments stand
-- outside of them, and ['x'] is written for .x, so that no column of the caller is taken for one of
-- these names
list_transform(
  list_transform(
    list_transform(
      [struct_pack(
        p := TRY_CAST(p AS DOUBLE[]),
        q := TRY_CAST(q AS DOUBLE[]),
        is_listed := (p IS NULL OR TRY_CAST(p AS DOUBLE[]) IS NOT NULL)
          AND (q IS NULL OR TRY_CAST(q AS DOUBLE[]) IS NOT NULL),
        kind := CAST(kind AS VARCHAR)
      )],
      lambda given: struct_pack(
        given := given,
        p_sum := list_sum(given['p']),
        q_sum := list_sum(given['q']),
        places := coalesce(len(given['p']), 0)
      )
    ),
    lambda summed: struct_pack(
      kind := summed['given']['kind'],
      is_listed := summed['given']['is_listed'],
      is_known := summed['p_sum'] > 0 AND summed['q_sum'] > 0,
      is_paired := len(summed['given']['p']) = len(summed['given']['q']),
      wrong := list_filter(
        list_concat(summed['given']['p'], summed['given']['q']),
        lambda one: NOT coalesce(one >= 0 AND isfinite(one), false)
      ),
      apart := list_transform(
        list_zip(
          summed['given']['p'],
          list_resize([summed['p_sum']], summed['places'], summed['p_sum']),
          summed['given']['q'],
          list_resize([summed['q_sum']], summed['places'], summed['q_sum'])
        ),
        lambda pair: pair[1] / pair[2] - pair[3] / pair[4]
      )
    )
  ),
  lambda found: CASE
    WHEN NOT coalesce(found['kind'] IN ('equal', 'ordered'), false)
      THEN error('deid.emd: kind must be equal or ordered')
    WHEN NOT found['is_listed']
      THEN error('deid.emd: p and q must be lists of numbers, such as [3, 1]')
    WHEN len(found['wrong']) > 0
      THEN error('deid.emd: shares must be finite, 0 or more, and none of them NULL')
    WHEN NOT found['is_paired']
      THEN error('deid.emd: p and q must have a share for each of the same values')
    WHEN NOT coalesce(found['is_known'], false) THEN NULL
    WHEN found['kind'] = 'equal'
      THEN list_sum(list_transform(found['apart'], lambda one: abs(one))) / 2
    ELSE list_reduce(
      list_transform(
        found['apart'],
        lambda one: struct_pack(held := one, moved := abs(one))
      ),
      lambda before, next: struct_pack(
        held := before['held'] + next['held'],
        moved := before['moved'] + abs(before['held'] + next['held'])
      )
    )['moved'] / greatest(len(found['apart']) - 1, 1)
  END
)[1];
