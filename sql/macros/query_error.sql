-- query_error: how far the answers estimated from a release are from the true ones
-- reads   truth       a table or view with the true answer: keys and a value, one row per key
--         estimate    the same from the release; columns are matched by name. Its columns
--                     <value>_lower and <value>_upper, unless they are keys, are its bounds
--         value       the column to compare; NULL: the last column of truth
--         keys        the columns that name a group; NULL: all other columns of truth
-- gives   groups (of truth), lost (of them), invented (in estimate only), relative_error (the sum
--         of |estimate - truth| over that of |truth|, or over 1 where that is 0), mean_group_error
--         (the mean of |estimate - truth| / |truth| over the groups where truth is not 0),
--         true_total, estimated_total, within_bounds (the share of the groups on both sides with a
--         true value and a bound whose value is within its bounds, 1e-9 of it aside; NULL: no group
--         has bounds)    one row; a group that one side lacks is 0 there
-- example FROM deid.query_error('true_answer', 'answer')
CREATE OR REPLACE MACRO deid.query_error(truth, estimate, value := NULL, keys := NULL) AS TABLE
SELECT
  count(*) FILTER (WHERE __truths = 1) AS groups,
  count(*) FILTER (WHERE __estimates = 0) AS lost,
  count(*) FILTER (WHERE __truths = 0) AS invented,
  coalesce(
    sum(abs(__estimate - __truth))
    / CASE WHEN sum(abs(__truth)) > 0 THEN sum(abs(__truth)) ELSE 1 END,
    0
  ) AS relative_error,
  avg(abs(__estimate - __truth) / abs(__truth)) FILTER (WHERE __truth <> 0) AS mean_group_error,
  coalesce(sum(__truth), 0) AS true_total,
  coalesce(sum(__estimate), 0) AS estimated_total,
  avg(CASE WHEN __within THEN 1 ELSE 0 END) FILTER (WHERE __bounded) AS within_bounds
FROM (
  SELECT
    *,
    __estimates = 1 AND __known IS NOT NULL AND (__lower IS NOT NULL OR __upper IS NOT NULL)
      AS __bounded,
    coalesce(__known >= __lower - 1e-9 * greatest(abs(__known), abs(__lower)), true)
      AND coalesce(__known <= __upper + 1e-9 * greatest(abs(__known), abs(__upper)), true)
      AS __within
  FROM (
    SELECT
      __key,
      count(*) FILTER (WHERE __true) AS __truths,
      count(*) FILTER (WHERE NOT __true) AS __estimates,
      max(__numbers[1]) FILTER (WHERE __true) AS __known,
      coalesce(max(__numbers[1]) FILTER (WHERE __true), 0) AS __truth,
      coalesce(max(__numbers[1]) FILTER (WHERE NOT __true), 0) AS __estimate,
      max(__numbers[2]) FILTER (WHERE NOT __true) AS __lower,
      max(__numbers[3]) FILTER (WHERE NOT __true) AS __upper
    FROM (
      SELECT
        __true,
        list_transform(__keys, lambda key: __cells[list_position(__names, key)]) AS __key,
        list_transform(
          __read, lambda one: TRY_CAST(__cells[list_position(__names, one)] AS DOUBLE)
        ) AS __numbers
      FROM (
        SELECT
          *,
          -- the value, and of estimates its bounds, but no key
          list_transform(
            [__value, concat(__value, '_lower'), concat(__value, '_upper')],
            lambda one: CASE
              WHEN one = __value OR NOT (__true OR list_contains(__keys, one)) THEN one
            END
          ) AS __read
        FROM (
          SELECT
            *,
            coalesce(
              list_transform(CAST(keys AS VARCHAR[]), lambda key: lower(key)),
              list_filter(__columns, lambda other: other <> __value)
            ) AS __keys
          FROM (
            SELECT
              *,
              coalesce(lower(CAST(value AS VARCHAR)), __columns[-1]) AS __value
            FROM (
              SELECT
                *,
                coalesce(
                  any_value(__names) FILTER (WHERE __true) OVER (),
                  any_value(__names) OVER ()
                ) AS __columns
              FROM (
                -- rows as lists of text: nothing of the caller's has a name from here on
                SELECT
                  true AS __true,
                  list_transform(struct_keys(struct_pack(*COLUMNS(*))), lambda one: lower(one))
                    AS __names,
                  list_value(*COLUMNS(*)) AS __cells
                FROM (
                  SELECT CAST(COLUMNS(*) AS VARCHAR)
                  FROM query_table(coalesce(
                    CASE
                      WHEN keys IS NOT NULL
                        AND NOT coalesce(
                          len(TRY_CAST(keys AS VARCHAR[]))
                          = list_count(TRY_CAST(keys AS VARCHAR[])),
                          false
                        )
                        THEN error(
                          'deid.query_error: keys must be a list of column names, or NULL'
                        )
                    END,
                    truth,
                    error('deid.query_error: truth must be the name of a table or view')
                  ))
                )
                UNION ALL
                SELECT
                  false AS __true,
                  list_transform(struct_keys(struct_pack(*COLUMNS(*))), lambda one: lower(one))
                    AS __names,
                  list_value(*COLUMNS(*)) AS __cells
                FROM (
                  SELECT CAST(COLUMNS(*) AS VARCHAR)
                  FROM query_table(coalesce(
                    estimate,
                    error('deid.query_error: estimate must be the name of a table or view')
                  ))
                )
              )
            )
          )
        )
      )
      WHERE CASE
        WHEN NOT list_has_all(__names, list_append(__keys, __value)) THEN error(concat(
          'deid.query_error: ', CASE WHEN __true THEN 'truth' ELSE 'estimate' END,
          ' lacks one of the columns ', array_to_string(list_append(__keys, __value), ', ')
        ))
        WHEN len(list_filter(__read, lambda one:
          __cells[list_position(__names, one)] IS NOT NULL
          AND (
            TRY_CAST(__cells[list_position(__names, one)] AS DOUBLE) IS NULL
            OR isnan(TRY_CAST(__cells[list_position(__names, one)] AS DOUBLE))
            -- a bound may be infinite, an answer not
            OR (
              one = __value
              AND isinf(TRY_CAST(__cells[list_position(__names, one)] AS DOUBLE))
            )
          )
        )) > 0
          THEN error(concat(
            'deid.query_error: ', __value, ' or a bound of it is not a number, or it is infinite'
          ))
        ELSE true
      END
    )
    GROUP BY __key
  )
)
WHERE CASE
  WHEN __truths <= 1 AND __estimates <= 1 THEN true
  ELSE error('deid.query_error: several rows have the same keys')
END;
