-- functions: those of PostgreSQL's catalog that its clients call, in the schema pg
CREATE MACRO pg.pg_table_is_visible(o) AS TRUE;
CREATE MACRO pg.pg_type_is_visible(o) AS TRUE;
CREATE MACRO pg.pg_function_is_visible(o) AS TRUE;
CREATE MACRO pg.pg_collation_is_visible(o) AS TRUE;
CREATE MACRO pg.pg_is_in_recovery() AS FALSE;
CREATE MACRO pg.pg_is_other_temp_schema(o) AS FALSE;
CREATE MACRO pg.pg_my_temp_schema() AS 0;
CREATE MACRO pg.pg_client_encoding() AS 'UTF8';
CREATE MACRO pg.pg_encoding_to_char(n) AS 'UTF8';
CREATE MACRO pg.pg_char_to_encoding(n) AS 6;
CREATE MACRO pg.pg_get_userbyid(o) AS (SELECT min(rolname) FROM pg.pg_roles);
CREATE MACRO pg.pg_tablespace_location(o) AS '';
CREATE MACRO pg.pg_get_expr(a, b) AS NULL::VARCHAR, (a, b, c) AS NULL::VARCHAR;
CREATE MACRO pg.pg_get_constraintdef(a) AS NULL::VARCHAR, (a, b) AS NULL::VARCHAR;
CREATE MACRO pg.pg_get_indexdef(a) AS NULL::VARCHAR, (a, b, c) AS NULL::VARCHAR;
CREATE MACRO pg.pg_get_viewdef(a) AS NULL::VARCHAR, (a, b) AS NULL::VARCHAR;
CREATE MACRO pg.pg_get_ruledef(a) AS NULL::VARCHAR, (a, b) AS NULL::VARCHAR;
CREATE MACRO pg.pg_get_triggerdef(a) AS NULL::VARCHAR, (a, b) AS NULL::VARCHAR;
CREATE MACRO pg.pg_get_partkeydef(a) AS NULL::VARCHAR;
CREATE MACRO pg.pg_get_statisticsobjdef_columns(a) AS NULL::VARCHAR;
CREATE MACRO pg.pg_get_functiondef(a) AS NULL::VARCHAR;
CREATE MACRO pg.pg_get_function_result(a) AS NULL::VARCHAR;
CREATE MACRO pg.pg_get_function_arguments(a) AS NULL::VARCHAR;
CREATE MACRO pg.pg_get_function_identity_arguments(a) AS NULL::VARCHAR;
CREATE MACRO pg.pg_get_serial_sequence(a, b) AS NULL::VARCHAR;
CREATE MACRO pg.pg_get_replica_identity_index(a) AS NULL::UINTEGER;
CREATE MACRO pg.pg_relation_is_publishable(o) AS FALSE;
CREATE MACRO pg.pg_relation_is_updatable(o, b) AS 0;
CREATE MACRO pg.pg_column_is_updatable(o, n, b) AS FALSE;
CREATE MACRO pg.pg_relation_size(o) AS 0, (o, fork) AS 0;
CREATE MACRO pg.pg_table_size(o) AS 0;
CREATE MACRO pg.pg_indexes_size(o) AS 0;
CREATE MACRO pg.pg_total_relation_size(o) AS 0;
CREATE MACRO pg.pg_database_size(o) AS 0;
CREATE MACRO pg.pg_tablespace_size(o) AS 0;
CREATE MACRO pg.pg_size_pretty(n) AS '0 bytes';
CREATE MACRO pg.pg_stat_get_numscans(o) AS 0;
CREATE MACRO pg.pg_has_role(a, b) AS TRUE, (a, b, c) AS TRUE;
CREATE MACRO pg.has_database_privilege(a, b) AS b ILIKE 'CONNECT', (a, b, c) AS c ILIKE 'CONNECT';
CREATE MACRO pg.has_schema_privilege(a, b) AS b ILIKE 'USAGE', (a, b, c) AS c ILIKE 'USAGE';
CREATE MACRO pg.has_table_privilege(a, b) AS b ILIKE '%SELECT%', (a, b, c) AS c ILIKE '%SELECT%';
CREATE MACRO pg.has_column_privilege(a, b, c) AS c ILIKE '%SELECT%',
  (a, b, c, d) AS d ILIKE '%SELECT%';
CREATE MACRO pg.has_any_column_privilege(a, b) AS b ILIKE '%SELECT%',
  (a, b, c) AS c ILIKE '%SELECT%';
CREATE MACRO pg.has_function_privilege(a, b) AS FALSE, (a, b, c) AS FALSE;
CREATE MACRO pg.has_sequence_privilege(a, b) AS FALSE, (a, b, c) AS FALSE;
CREATE MACRO pg.has_foreign_data_wrapper_privilege(a, b) AS FALSE, (a, b, c) AS FALSE;
CREATE MACRO pg.has_server_privilege(a, b) AS FALSE, (a, b, c) AS FALSE;
CREATE MACRO pg.obj_description(o) AS (
  SELECT min(description) FROM pg.pg_description WHERE objoid = o AND objsubid = 0
), (o, of) AS (
  SELECT min(description) FROM pg.pg_description WHERE objoid = o AND objsubid = 0
);
CREATE MACRO pg.col_description(o, n) AS (
  SELECT min(description) FROM pg.pg_description WHERE objoid = o AND objsubid = n
);
CREATE MACRO pg.shobj_description(o, of) AS NULL::VARCHAR;
CREATE MACRO pg.format_type(o, m) AS (
  SELECT min(
    CASE
      WHEN t.oid = 1700 AND m > 3
        THEN 'numeric(' || ((m - 4) >> 16)::VARCHAR || ',' || ((m - 4) & 65535)::VARCHAR || ')'
      ELSE t.shown
    END
  )
  FROM pg.shown_types AS t
  WHERE t.oid = o
);
CREATE MACRO pg.plain(name) AS
  CASE
    WHEN name LIKE '%"' THEN replace(regexp_extract(name, '"((?:[^"]|"")*)"$', 1), '""', '"')
    ELSE regexp_extract(lower(name), '[^.]*$')
  END;
CREATE MACRO pg.to_regclass(name) AS (
  SELECT min(oid)
  FROM pg.pg_class
  WHERE relname = pg.plain(name)
);
CREATE MACRO pg.to_regtype(name) AS (
  SELECT min(oid)
  FROM pg.shown_types
  WHERE shown = lower(name) OR typname = lower(pg.plain(name))
);
CREATE MACRO pg.to_regnamespace(name) AS (
  SELECT min(oid)
  FROM pg.pg_namespace
  WHERE nspname = pg.plain(name)
);
CREATE MACRO pg.regclass_shown(o) AS (
  SELECT min(relname) FROM pg.pg_class WHERE oid = try_cast(o AS UINTEGER)
);
CREATE MACRO pg.regtype_shown(o) AS (
  SELECT min(shown) FROM pg.shown_types WHERE oid = try_cast(o AS UINTEGER)
);
CREATE MACRO pg.regnamespace_shown(o) AS (
  SELECT min(nspname) FROM pg.pg_namespace WHERE oid = try_cast(o AS UINTEGER)
);
CREATE MACRO pg.current_schemas(implicit) AS
  CASE WHEN implicit THEN ['pg_catalog', 'public'] ELSE ['public'] END;
CREATE MACRO pg.quote_ident(name) AS
  CASE
    WHEN regexp_full_match(name, '[a-z_][a-z0-9_]*') THEN name
    ELSE '"' || replace(name, '"', '""') || '"'
  END;
CREATE MACRO pg.array_upper(a, n) AS nullif(len(a), 0);
CREATE MACRO pg.array_lower(a, n) AS CASE WHEN len(a) > 0 THEN 1 END;
CREATE MACRO pg._pg_expandarray(a) AS
  unnest(list_transform(a, lambda v, i: {'x': v, 'n': i}));
CREATE MACRO pg.inet_server_addr() AS NULL::VARCHAR;
CREATE MACRO pg.inet_server_port() AS NULL::INTEGER;
CREATE MACRO pg.inet_client_addr() AS NULL::VARCHAR;
CREATE MACRO pg.txid_current() AS 0;
CREATE MACRO pg.pg_postmaster_start_time() AS now();
CREATE MACRO pg.age(x) AS 0;
CREATE MACRO pg.pg_advisory_unlock_all() AS NULL::VARCHAR;
CREATE MACRO pg.setting(of) AS (
  SELECT min(setting) FROM pg.pg_settings WHERE lower(name) = lower(of)
);
CREATE MACRO pg.pg_get_keywords() AS TABLE
  SELECT keyword_name AS word, 'R' AS catcode FROM duckdb_keywords();
CREATE MACRO pg.generate_subscripts(a, n) AS unnest(range(1, len(a) + 1));
CREATE MACRO pg.format(f, a) AS printf(replace(f, '%I', '%s'), a),
  (f, a, b) AS printf(replace(f, '%I', '%s'), a, b),
  (f, a, b, c) AS printf(replace(f, '%I', '%s'), a, b, c);
