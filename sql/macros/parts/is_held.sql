-- is_held: true where no class is too small, else an error that says how far it is
-- reads   k, subject and the columns of checked_classes
-- gives   one condition, in which NULL never stands for true

coalesce(
  __wrong_k__,
  CASE
    WHEN __smallest >= TRY_CAST(CAST(k AS VARCHAR) AS BIGINT) THEN true
    WHEN __smallest IS NULL THEN error('deid.check: the table is empty, so nothing was checked')
    ELSE error(concat(
      'deid.check: not ', CAST(k AS VARCHAR), '-anonymous, the smallest class has ', __smallest,
      ' of ', CAST(k AS VARCHAR),
      CASE WHEN subject = '' THEN ' records; ' ELSE ' subjects; ' END,
      __small_records, ' of ', __records, ' records are in ', __small_classes,
      ' classes that are too small'
    ))
  END
)
