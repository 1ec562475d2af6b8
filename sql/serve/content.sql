-- content: what the catalog tells of the tables that are served
-- reads   pg.served        oid, relname, comment
--         pg.served_columns  attrelid, attnum, attname, atttypid, attlen, atttypmod, comment
--         pg.served_types  oid, typname, typlen, typcategory, typelem, typarray, shown
--         pg.served_as     database, role
INSERT INTO pg.pg_namespace BY NAME
SELECT unnest([11, 2200, 13000]) AS oid,
  unnest(['pg_catalog', 'public', 'information_schema']) AS nspname, 10 AS nspowner;

INSERT INTO pg.pg_roles BY NAME
SELECT 10 AS oid, role AS rolname, FALSE AS rolsuper, TRUE AS rolinherit, FALSE AS rolcreaterole,
  FALSE AS rolcreatedb, TRUE AS rolcanlogin, FALSE AS rolreplication, -1 AS rolconnlimit,
  FALSE AS rolbypassrls
FROM pg.served_as;

INSERT INTO pg.pg_user BY NAME
SELECT role AS usename, 10 AS usesysid, FALSE AS usecreatedb, FALSE AS usesuper, FALSE AS userepl,
  FALSE AS usebypassrls
FROM pg.served_as;

INSERT INTO pg.pg_database BY NAME
SELECT 5 AS oid, database AS datname, 10 AS datdba, 6 AS encoding, 'c' AS datlocprovider,
  FALSE AS datistemplate, TRUE AS datallowconn, -1 AS datconnlimit, 1663 AS dattablespace,
  'C' AS datcollate, 'C' AS datctype
FROM pg.served_as;

INSERT INTO pg.pg_tablespace BY NAME SELECT 1663 AS oid, 'pg_default' AS spcname, 10 AS spcowner;
INSERT INTO pg.pg_am BY NAME SELECT 2 AS oid, 'heap' AS amname, 't' AS amtype;
INSERT INTO pg.pg_collation BY NAME
SELECT 100 AS oid, 'default' AS collname, 11 AS collnamespace, 10 AS collowner, 'd' AS collprovider,
  TRUE AS collisdeterministic, -1 AS collencoding;
INSERT INTO pg.pg_language BY NAME SELECT 14 AS oid, 'sql' AS lanname, 10 AS lanowner;

INSERT INTO pg.pg_type BY NAME
SELECT oid, typname, 11 AS typnamespace, 10 AS typowner, typlen, typlen BETWEEN 1 AND 8 AS typbyval,
  'b' AS typtype, typcategory, FALSE AS typispreferred, TRUE AS typisdefined, ',' AS typdelim,
  0 AS typrelid, CASE WHEN typelem > 0 THEN 'array_in' ELSE typname || 'in' END AS typinput,
  CASE WHEN typelem > 0 THEN 'array_recv' ELSE typname || 'recv' END AS typreceive,
  typelem, typarray, FALSE AS typnotnull, 0 AS typbasetype, -1 AS typtypmod, 0 AS typndims,
  CASE WHEN typcategory = 'S' THEN 100 ELSE 0 END AS typcollation, '-' AS typsubscript
FROM pg.served_types;

INSERT INTO pg.pg_class BY NAME
SELECT oid, relname, 2200 AS relnamespace, 0 AS reltype, 0 AS reloftype, 10 AS relowner,
  2 AS relam, 0 AS relfilenode, 0 AS reltablespace, 0 AS relpages, -1 AS reltuples,
  0 AS reltoastrelid, FALSE AS relhasindex, FALSE AS relisshared, 'p' AS relpersistence,
  'r' AS relkind, (SELECT count(*) FROM pg.served_columns WHERE attrelid = oid) AS relnatts,
  0 AS relchecks, FALSE AS relhasrules, FALSE AS relhastriggers, FALSE AS relhassubclass,
  FALSE AS relrowsecurity, FALSE AS relforcerowsecurity, TRUE AS relispopulated,
  'd' AS relreplident, FALSE AS relispartition, 0 AS relfrozenxid
FROM pg.served;

-- those of the catalog itself that comments are looked up by
INSERT INTO pg.pg_class BY NAME
SELECT unnest([1247, 1249, 1255, 1259, 1262, 2606, 2615]) AS oid,
  unnest(['pg_type', 'pg_attribute', 'pg_proc', 'pg_class', 'pg_database', 'pg_constraint',
    'pg_namespace']) AS relname,
  11 AS relnamespace, 10 AS relowner, 2 AS relam, 'p' AS relpersistence, 'r' AS relkind,
  FALSE AS relhasindex, FALSE AS relispartition;

INSERT INTO pg.pg_attribute BY NAME
SELECT attrelid, attname, atttypid, attlen, attnum, atttypmod, 0 AS attndims, FALSE AS attbyval,
  '' AS attidentity, '' AS attgenerated, FALSE AS attnotnull, FALSE AS atthasdef,
  FALSE AS atthasmissing, FALSE AS attisdropped, TRUE AS attislocal, 0 AS attinhcount,
  -1 AS attstattarget, 'p' AS attstorage, '' AS attcompression,
  CASE WHEN atttypid IN (25, 1043) THEN 100 ELSE 0 END AS attcollation
FROM pg.served_columns;

INSERT INTO pg.pg_description BY NAME
SELECT oid AS objoid, 1259 AS classoid, 0 AS objsubid, comment AS description
FROM pg.served
WHERE comment IS NOT NULL
UNION ALL
SELECT attrelid, 1259, attnum, comment FROM pg.served_columns WHERE comment IS NOT NULL;

INSERT INTO pg.pg_tables BY NAME
SELECT 'public' AS schemaname, relname AS tablename, role AS tableowner, FALSE AS hasindexes,
  FALSE AS hasrules, FALSE AS hastriggers, FALSE AS rowsecurity
FROM pg.served, pg.served_as;

INSERT INTO inf.information_schema_catalog_name SELECT database FROM pg.served_as;
INSERT INTO inf.enabled_roles SELECT role FROM pg.served_as;

INSERT INTO inf.schemata BY NAME
SELECT database AS catalog_name, nspname AS schema_name, role AS schema_owner
FROM pg.pg_namespace, pg.served_as;

INSERT INTO inf.tables BY NAME
SELECT database AS table_catalog, 'public' AS table_schema, relname AS table_name,
  'BASE TABLE' AS table_type, 'NO' AS is_insertable_into, 'NO' AS is_typed
FROM pg.served, pg.served_as;

INSERT INTO inf.columns BY NAME
SELECT database AS table_catalog, 'public' AS table_schema, t.relname AS table_name,
  c.attname AS column_name, c.attnum AS ordinal_position, 'YES' AS is_nullable,
  CASE WHEN k.typelem > 0 THEN 'ARRAY' ELSE k.shown END AS data_type,
  CASE WHEN c.atttypid = 1700 AND c.atttypmod > 3 THEN (c.atttypmod - 4) >> 16
    ELSE CASE c.atttypid WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 WHEN 700 THEN 24
      WHEN 701 THEN 53 END
  END AS numeric_precision,
  CASE WHEN c.atttypid IN (20, 21, 23) THEN 2 WHEN c.atttypid = 1700 THEN 10
    WHEN c.atttypid IN (700, 701) THEN 2 END AS numeric_precision_radix,
  CASE WHEN c.atttypid = 1700 AND c.atttypmod > 3 THEN (c.atttypmod - 4) & 65535
    WHEN c.atttypid IN (20, 21, 23) THEN 0 END AS numeric_scale,
  CASE WHEN c.atttypid IN (1083, 1114, 1184) THEN 6 WHEN c.atttypid = 1082 THEN 0 END
    AS datetime_precision,
  database AS udt_catalog, 'pg_catalog' AS udt_schema, k.typname AS udt_name,
  c.attnum::VARCHAR AS dtd_identifier, 'NO' AS is_self_referencing, 'NO' AS is_identity,
  'NEVER' AS is_generated, 'NO' AS is_updatable
FROM pg.served_columns AS c, pg.served AS t, pg.served_types AS k, pg.served_as
WHERE t.oid = c.attrelid AND k.oid = c.atttypid;

INSERT INTO inf.table_privileges BY NAME
SELECT role AS grantor, role AS grantee, database AS table_catalog, 'public' AS table_schema,
  relname AS table_name, 'SELECT' AS privilege_type, 'NO' AS is_grantable
FROM pg.served, pg.served_as;
