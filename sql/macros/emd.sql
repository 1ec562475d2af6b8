-- emd: the earth mover's distance between two distributions over the same values
-- reads   p       a list of shares or counts, one a value; divided by its sum
--         q       the same for the other distribution, the values in the same order
--         kind    equal: all values are as far apart, half the sum of |p - q|; ordered: as far as
--                 their places in the list, the sum of |cumulative p - cumulative q| over their
--                 number - 1 (Li et al. 2007)
-- gives   DOUBLE from 0 to 1; NULL where p or q is NULL, empty or all 0; an error for another kind,
--         lists of different lengths, and a share that is negative, NULL or not finite
CREATE OR REPLACE MACRO deid.emd(p, q, kind := 'equal') AS
-- each lambda names what the one before made; the arguments stand outside of them, and ['x'] is
-- written for .x, so that no column of the caller is taken for one of these names
list_transform(
  list_transform(
    [struct_pack(
      p := CAST(p AS DOUBLE[]),
      q := CAST(q AS DOUBLE[]),
      kind := CAST(kind AS VARCHAR)
    )],
    lambda given: struct_pack(
      given := given,
      p_sum := list_sum(given['p']),
      q_sum := list_sum(given['q']),
      wrong := list_filter(
        list_concat(given['p'], given['q']),
        lambda one: NOT coalesce(one >= 0 AND isfinite(one), false)
      )
    )
  ),
  lambda found: CASE
    WHEN NOT coalesce(found['given']['kind'] IN ('equal', 'ordered'), false)
      THEN error('deid.emd: kind must be equal or ordered')
    WHEN len(found['wrong']) > 0
      THEN error('deid.emd: shares must be finite, 0 or more, and none of them NULL')
    WHEN len(found['given']['p']) <> len(found['given']['q'])
      THEN error('deid.emd: p and q must have a share for each of the same values')
    WHEN NOT coalesce(found['p_sum'] > 0 AND found['q_sum'] > 0, false) THEN NULL
    WHEN found['given']['kind'] = 'equal' THEN list_sum(list_transform(
      list_zip(found['given']['p'], found['given']['q']),
      lambda pair: abs(pair[1] / found['p_sum'] - pair[2] / found['q_sum'])
    )) / 2
    ELSE list_reduce(
      list_transform(
        list_zip(found['given']['p'], found['given']['q']),
        lambda pair: struct_pack(
          held := pair[1] / found['p_sum'] - pair[2] / found['q_sum'],
          moved := abs(pair[1] / found['p_sum'] - pair[2] / found['q_sum'])
        )
      ),
      lambda before, next: struct_pack(
        held := before['held'] + next['held'],
        moved := before['moved'] + abs(before['held'] + next['held'])
      )
    )['moved'] / greatest(len(found['given']['p']) - 1, 1)
  END
)[1];
