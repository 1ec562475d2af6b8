-- verify/signatures: at which levels classes of the catalog stand though none was padded there
-- reads   __signatures__   class, signature: the levels of its values
--         __members__      grp, class: the groups of the catalog
--         __flags__        class, counterfeits: those that are known
-- gives   untouched        one row
SELECT count(*) AS untouched
FROM (
  SELECT members.grp, signatures.signature
  FROM __members__ AS members
  JOIN __signatures__ AS signatures
    ON signatures.class = members.class
  LEFT JOIN __flags__ AS flags
    ON flags.class = members.class
  GROUP BY members.grp, signatures.signature
  HAVING coalesce(sum(flags.counterfeits), 0) = 0
) AS clean
