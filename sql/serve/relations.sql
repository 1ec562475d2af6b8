-- relations: those of PostgreSQL's catalog that its clients read, in the schemas pg and inf
CREATE TABLE inf.applicable_roles (
    grantee VARCHAR, role_name VARCHAR, is_grantable VARCHAR
);
CREATE TABLE inf.character_sets (
    character_set_catalog VARCHAR, character_set_schema VARCHAR, character_set_name VARCHAR,
    character_repertoire VARCHAR, form_of_use VARCHAR, default_collate_catalog VARCHAR,
    default_collate_schema VARCHAR, default_collate_name VARCHAR
);
CREATE TABLE inf.check_constraints (
    constraint_catalog VARCHAR, constraint_schema VARCHAR, constraint_name VARCHAR, check_clause
    VARCHAR
);
CREATE TABLE inf.column_privileges (
    grantor VARCHAR, grantee VARCHAR, table_catalog VARCHAR, table_schema VARCHAR, table_name
    VARCHAR, column_name VARCHAR, privilege_type VARCHAR, is_grantable VARCHAR
);
CREATE TABLE inf.columns (
    table_catalog VARCHAR, table_schema VARCHAR, table_name VARCHAR, column_name VARCHAR,
    ordinal_position INTEGER, column_default VARCHAR, is_nullable VARCHAR, data_type VARCHAR,
    character_maximum_length INTEGER, character_octet_length INTEGER, numeric_precision INTEGER,
    numeric_precision_radix INTEGER, numeric_scale INTEGER, datetime_precision INTEGER,
    interval_type VARCHAR, interval_precision INTEGER, character_set_catalog VARCHAR,
    character_set_schema VARCHAR, character_set_name VARCHAR, collation_catalog VARCHAR,
    collation_schema VARCHAR, collation_name VARCHAR, domain_catalog VARCHAR, domain_schema
    VARCHAR, domain_name VARCHAR, udt_catalog VARCHAR, udt_schema VARCHAR, udt_name VARCHAR,
    scope_catalog VARCHAR, scope_schema VARCHAR, scope_name VARCHAR, maximum_cardinality
    INTEGER, dtd_identifier VARCHAR, is_self_referencing VARCHAR, is_identity VARCHAR,
    identity_generation VARCHAR, identity_start VARCHAR, identity_increment VARCHAR,
    identity_maximum VARCHAR, identity_minimum VARCHAR, identity_cycle VARCHAR, is_generated
    VARCHAR, generation_expression VARCHAR, is_updatable VARCHAR
);
CREATE TABLE inf.constraint_column_usage (
    table_catalog VARCHAR, table_schema VARCHAR, table_name VARCHAR, column_name VARCHAR,
    constraint_catalog VARCHAR, constraint_schema VARCHAR, constraint_name VARCHAR
);
CREATE TABLE inf.domains (
    domain_catalog VARCHAR, domain_schema VARCHAR, domain_name VARCHAR, data_type VARCHAR,
    character_maximum_length INTEGER, character_octet_length INTEGER, character_set_catalog
    VARCHAR, character_set_schema VARCHAR, character_set_name VARCHAR, collation_catalog
    VARCHAR, collation_schema VARCHAR, collation_name VARCHAR, numeric_precision INTEGER,
    numeric_precision_radix INTEGER, numeric_scale INTEGER, datetime_precision INTEGER,
    interval_type VARCHAR, interval_precision INTEGER, domain_default VARCHAR, udt_catalog
    VARCHAR, udt_schema VARCHAR, udt_name VARCHAR, scope_catalog VARCHAR, scope_schema VARCHAR,
    scope_name VARCHAR, maximum_cardinality INTEGER, dtd_identifier VARCHAR
);
CREATE TABLE inf.element_types (
    object_catalog VARCHAR, object_schema VARCHAR, object_name VARCHAR, object_type VARCHAR,
    collection_type_identifier VARCHAR, data_type VARCHAR, character_maximum_length INTEGER,
    character_octet_length INTEGER, character_set_catalog VARCHAR, character_set_schema VARCHAR,
    character_set_name VARCHAR, collation_catalog VARCHAR, collation_schema VARCHAR,
    collation_name VARCHAR, numeric_precision INTEGER, numeric_precision_radix INTEGER,
    numeric_scale INTEGER, datetime_precision INTEGER, interval_type VARCHAR, interval_precision
    INTEGER, domain_default VARCHAR, udt_catalog VARCHAR, udt_schema VARCHAR, udt_name VARCHAR,
    scope_catalog VARCHAR, scope_schema VARCHAR, scope_name VARCHAR, maximum_cardinality
    INTEGER, dtd_identifier VARCHAR
);
CREATE TABLE inf.enabled_roles (
    role_name VARCHAR
);
CREATE TABLE inf.information_schema_catalog_name (
    catalog_name VARCHAR
);
CREATE TABLE inf.key_column_usage (
    constraint_catalog VARCHAR, constraint_schema VARCHAR, constraint_name VARCHAR,
    table_catalog VARCHAR, table_schema VARCHAR, table_name VARCHAR, column_name VARCHAR,
    ordinal_position INTEGER, position_in_unique_constraint INTEGER
);
CREATE TABLE inf.parameters (
    specific_catalog VARCHAR, specific_schema VARCHAR, specific_name VARCHAR, ordinal_position
    INTEGER, parameter_mode VARCHAR, is_result VARCHAR, as_locator VARCHAR, parameter_name
    VARCHAR, data_type VARCHAR, character_maximum_length INTEGER, character_octet_length
    INTEGER, character_set_catalog VARCHAR, character_set_schema VARCHAR, character_set_name
    VARCHAR, collation_catalog VARCHAR, collation_schema VARCHAR, collation_name VARCHAR,
    numeric_precision INTEGER, numeric_precision_radix INTEGER, numeric_scale INTEGER,
    datetime_precision INTEGER, interval_type VARCHAR, interval_precision INTEGER, udt_catalog
    VARCHAR, udt_schema VARCHAR, udt_name VARCHAR, scope_catalog VARCHAR, scope_schema VARCHAR,
    scope_name VARCHAR, maximum_cardinality INTEGER, dtd_identifier VARCHAR, parameter_default
    VARCHAR
);
CREATE TABLE inf.referential_constraints (
    constraint_catalog VARCHAR, constraint_schema VARCHAR, constraint_name VARCHAR,
    unique_constraint_catalog VARCHAR, unique_constraint_schema VARCHAR, unique_constraint_name
    VARCHAR, match_option VARCHAR, update_rule VARCHAR, delete_rule VARCHAR
);
CREATE TABLE inf.routines (
    specific_catalog VARCHAR, specific_schema VARCHAR, specific_name VARCHAR, routine_catalog
    VARCHAR, routine_schema VARCHAR, routine_name VARCHAR, routine_type VARCHAR, module_catalog
    VARCHAR, module_schema VARCHAR, module_name VARCHAR, udt_catalog VARCHAR, udt_schema
    VARCHAR, udt_name VARCHAR, data_type VARCHAR, character_maximum_length INTEGER,
    character_octet_length INTEGER, character_set_catalog VARCHAR, character_set_schema VARCHAR,
    character_set_name VARCHAR, collation_catalog VARCHAR, collation_schema VARCHAR,
    collation_name VARCHAR, numeric_precision INTEGER, numeric_precision_radix INTEGER,
    numeric_scale INTEGER, datetime_precision INTEGER, interval_type VARCHAR, interval_precision
    INTEGER, type_udt_catalog VARCHAR, type_udt_schema VARCHAR, type_udt_name VARCHAR,
    scope_catalog VARCHAR, scope_schema VARCHAR, scope_name VARCHAR, maximum_cardinality
    INTEGER, dtd_identifier VARCHAR, routine_body VARCHAR, routine_definition VARCHAR,
    external_name VARCHAR, external_language VARCHAR, parameter_style VARCHAR, is_deterministic
    VARCHAR, sql_data_access VARCHAR, is_null_call VARCHAR, sql_path VARCHAR,
    schema_level_routine VARCHAR, max_dynamic_result_sets INTEGER, is_user_defined_cast VARCHAR,
    is_implicitly_invocable VARCHAR, security_type VARCHAR, to_sql_specific_catalog VARCHAR,
    to_sql_specific_schema VARCHAR, to_sql_specific_name VARCHAR, as_locator VARCHAR, created
    TIMESTAMP WITH TIME ZONE, last_altered TIMESTAMP WITH TIME ZONE, new_savepoint_level
    VARCHAR, is_udt_dependent VARCHAR, result_cast_from_data_type VARCHAR,
    result_cast_as_locator VARCHAR, result_cast_char_max_length INTEGER,
    result_cast_char_octet_length INTEGER, result_cast_char_set_catalog VARCHAR,
    result_cast_char_set_schema VARCHAR, result_cast_char_set_name VARCHAR,
    result_cast_collation_catalog VARCHAR, result_cast_collation_schema VARCHAR,
    result_cast_collation_name VARCHAR, result_cast_numeric_precision INTEGER,
    result_cast_numeric_precision_radix INTEGER, result_cast_numeric_scale INTEGER,
    result_cast_datetime_precision INTEGER, result_cast_interval_type VARCHAR,
    result_cast_interval_precision INTEGER, result_cast_type_udt_catalog VARCHAR,
    result_cast_type_udt_schema VARCHAR, result_cast_type_udt_name VARCHAR,
    result_cast_scope_catalog VARCHAR, result_cast_scope_schema VARCHAR, result_cast_scope_name
    VARCHAR, result_cast_maximum_cardinality INTEGER, result_cast_dtd_identifier VARCHAR
);
CREATE TABLE inf.schemata (
    catalog_name VARCHAR, schema_name VARCHAR, schema_owner VARCHAR,
    default_character_set_catalog VARCHAR, default_character_set_schema VARCHAR,
    default_character_set_name VARCHAR, sql_path VARCHAR
);
CREATE TABLE inf.sequences (
    sequence_catalog VARCHAR, sequence_schema VARCHAR, sequence_name VARCHAR, data_type VARCHAR,
    numeric_precision INTEGER, numeric_precision_radix INTEGER, numeric_scale INTEGER,
    start_value VARCHAR, minimum_value VARCHAR, maximum_value VARCHAR, increment VARCHAR,
    cycle_option VARCHAR
);
CREATE TABLE inf.table_constraints (
    constraint_catalog VARCHAR, constraint_schema VARCHAR, constraint_name VARCHAR,
    table_catalog VARCHAR, table_schema VARCHAR, table_name VARCHAR, constraint_type VARCHAR,
    is_deferrable VARCHAR, initially_deferred VARCHAR, enforced VARCHAR, nulls_distinct VARCHAR
);
CREATE TABLE inf.table_privileges (
    grantor VARCHAR, grantee VARCHAR, table_catalog VARCHAR, table_schema VARCHAR, table_name
    VARCHAR, privilege_type VARCHAR, is_grantable VARCHAR, with_hierarchy VARCHAR
);
CREATE TABLE inf.tables (
    table_catalog VARCHAR, table_schema VARCHAR, table_name VARCHAR, table_type VARCHAR,
    self_referencing_column_name VARCHAR, reference_generation VARCHAR,
    user_defined_type_catalog VARCHAR, user_defined_type_schema VARCHAR, user_defined_type_name
    VARCHAR, is_insertable_into VARCHAR, is_typed VARCHAR, commit_action VARCHAR
);
CREATE TABLE inf.triggers (
    trigger_catalog VARCHAR, trigger_schema VARCHAR, trigger_name VARCHAR, event_manipulation
    VARCHAR, event_object_catalog VARCHAR, event_object_schema VARCHAR, event_object_table
    VARCHAR, action_order INTEGER, action_condition VARCHAR, action_statement VARCHAR,
    action_orientation VARCHAR, action_timing VARCHAR, action_reference_old_table VARCHAR,
    action_reference_new_table VARCHAR, action_reference_old_row VARCHAR,
    action_reference_new_row VARCHAR, created TIMESTAMP WITH TIME ZONE
);
CREATE TABLE inf.views (
    table_catalog VARCHAR, table_schema VARCHAR, table_name VARCHAR, view_definition VARCHAR,
    check_option VARCHAR, is_updatable VARCHAR, is_insertable_into VARCHAR, is_trigger_updatable
    VARCHAR, is_trigger_deletable VARCHAR, is_trigger_insertable_into VARCHAR
);
CREATE TABLE pg.pg_aggregate (
    aggfnoid VARCHAR, aggkind VARCHAR, aggnumdirectargs SMALLINT, aggtransfn VARCHAR, aggfinalfn VARCHAR
);
CREATE TABLE pg.pg_am (
    oid UINTEGER, amname VARCHAR, amhandler VARCHAR, amtype VARCHAR
);
CREATE TABLE pg.pg_attrdef (
    oid UINTEGER, adrelid UINTEGER, adnum SMALLINT, adbin VARCHAR
);
CREATE TABLE pg.pg_attribute (
    attrelid UINTEGER, attname VARCHAR, atttypid UINTEGER, attstattarget INTEGER, attlen
    SMALLINT, attnum SMALLINT, attndims INTEGER, attcacheoff INTEGER, atttypmod INTEGER,
    attbyval BOOLEAN, attalign VARCHAR, attstorage VARCHAR, attcompression VARCHAR, attnotnull
    BOOLEAN, atthasdef BOOLEAN, atthasmissing BOOLEAN, attidentity VARCHAR, attgenerated
    VARCHAR, attisdropped BOOLEAN, attislocal BOOLEAN, attinhcount INTEGER, attcollation
    UINTEGER, attacl VARCHAR[], attoptions VARCHAR[], attfdwoptions VARCHAR[], attmissingval
    VARCHAR
);
CREATE TABLE pg.pg_auth_members (
    roleid UINTEGER, member UINTEGER, grantor UINTEGER, admin_option BOOLEAN
);
CREATE TABLE pg.pg_available_extensions (
    name VARCHAR, default_version VARCHAR, installed_version VARCHAR, comment VARCHAR
);
CREATE TABLE pg.pg_cast (
    oid UINTEGER, castsource UINTEGER, casttarget UINTEGER, castfunc UINTEGER, castcontext
    VARCHAR, castmethod VARCHAR
);
CREATE TABLE pg.pg_class (
    oid UINTEGER, relname VARCHAR, relnamespace UINTEGER, reltype UINTEGER, reloftype UINTEGER,
    relowner UINTEGER, relam UINTEGER, relfilenode UINTEGER, reltablespace UINTEGER, relpages
    INTEGER, reltuples FLOAT, relallvisible INTEGER, reltoastrelid UINTEGER, relhasindex
    BOOLEAN, relisshared BOOLEAN, relpersistence VARCHAR, relkind VARCHAR, relnatts SMALLINT,
    relchecks SMALLINT, relhasrules BOOLEAN, relhastriggers BOOLEAN, relhassubclass BOOLEAN,
    relrowsecurity BOOLEAN, relforcerowsecurity BOOLEAN, relispopulated BOOLEAN, relreplident
    VARCHAR, relispartition BOOLEAN, relrewrite UINTEGER, relfrozenxid BIGINT, relminmxid
    BIGINT, relacl VARCHAR[], reloptions VARCHAR[], relpartbound VARCHAR
);
CREATE TABLE pg.pg_collation (
    oid UINTEGER, collname VARCHAR, collnamespace UINTEGER, collowner UINTEGER, collprovider
    VARCHAR, collisdeterministic BOOLEAN, collencoding INTEGER, collcollate VARCHAR, collctype
    VARCHAR, colliculocale VARCHAR, collversion VARCHAR
);
CREATE TABLE pg.pg_constraint (
    tableoid UINTEGER,
    oid UINTEGER, conname VARCHAR, connamespace UINTEGER, contype VARCHAR, condeferrable
    BOOLEAN, condeferred BOOLEAN, convalidated BOOLEAN, conrelid UINTEGER, contypid UINTEGER,
    conindid UINTEGER, conparentid UINTEGER, confrelid UINTEGER, confupdtype VARCHAR,
    confdeltype VARCHAR, confmatchtype VARCHAR, conislocal BOOLEAN, coninhcount INTEGER,
    connoinherit BOOLEAN, conkey SMALLINT[], confkey SMALLINT[], conpfeqop UINTEGER[], conppeqop
    UINTEGER[], conffeqop UINTEGER[], confdelsetcols SMALLINT[], conexclop UINTEGER[], conbin
    VARCHAR
);
CREATE TABLE pg.pg_database (
    oid UINTEGER, datname VARCHAR, datdba UINTEGER, encoding INTEGER, datlocprovider VARCHAR,
    datistemplate BOOLEAN, datallowconn BOOLEAN, datconnlimit INTEGER, datfrozenxid BIGINT,
    datminmxid BIGINT, dattablespace UINTEGER, datcollate VARCHAR, datctype VARCHAR,
    daticulocale VARCHAR, datcollversion VARCHAR, datacl VARCHAR[]
);
CREATE TABLE pg.pg_db_role_setting (
    setdatabase UINTEGER, setrole UINTEGER, setconfig VARCHAR[]
);
CREATE TABLE pg.pg_default_acl (
    oid UINTEGER, defaclrole UINTEGER, defaclnamespace UINTEGER, defaclobjtype VARCHAR,
    defaclacl VARCHAR[]
);
CREATE TABLE pg.pg_depend (
    classid UINTEGER, objid UINTEGER, objsubid INTEGER, refclassid UINTEGER, refobjid UINTEGER,
    refobjsubid INTEGER, deptype VARCHAR
);
CREATE TABLE pg.pg_description (
    objoid UINTEGER, classoid UINTEGER, objsubid INTEGER, description VARCHAR
);
CREATE TABLE pg.pg_enum (
    oid UINTEGER, enumtypid UINTEGER, enumsortorder FLOAT, enumlabel VARCHAR
);
CREATE TABLE pg.pg_event_trigger (
    oid UINTEGER, evtname VARCHAR, evtevent VARCHAR, evtowner UINTEGER, evtfoid UINTEGER,
    evtenabled VARCHAR, evttags VARCHAR[]
);
CREATE TABLE pg.pg_extension (
    oid UINTEGER, extname VARCHAR, extowner UINTEGER, extnamespace UINTEGER, extrelocatable
    BOOLEAN, extversion VARCHAR, extconfig UINTEGER[], extcondition VARCHAR[]
);
CREATE TABLE pg.pg_foreign_data_wrapper (
    oid UINTEGER, fdwname VARCHAR, fdwowner UINTEGER, fdwhandler UINTEGER, fdwvalidator
    UINTEGER, fdwacl VARCHAR[], fdwoptions VARCHAR[]
);
CREATE TABLE pg.pg_foreign_server (
    oid UINTEGER, srvname VARCHAR, srvowner UINTEGER, srvfdw UINTEGER, srvtype VARCHAR,
    srvversion VARCHAR, srvacl VARCHAR[], srvoptions VARCHAR[]
);
CREATE TABLE pg.pg_foreign_table (
    ftrelid UINTEGER, ftserver UINTEGER, ftoptions VARCHAR[]
);
CREATE TABLE pg.pg_index (
    indexrelid UINTEGER, indrelid UINTEGER, indnatts SMALLINT, indnkeyatts SMALLINT, indisunique
    BOOLEAN, indnullsnotdistinct BOOLEAN, indisprimary BOOLEAN, indisexclusion BOOLEAN,
    indimmediate BOOLEAN, indisclustered BOOLEAN, indisvalid BOOLEAN, indcheckxmin BOOLEAN,
    indisready BOOLEAN, indislive BOOLEAN, indisreplident BOOLEAN, indkey SMALLINT[],
    indcollation UINTEGER[], indclass UINTEGER[], indoption SMALLINT[], indexprs VARCHAR,
    indpred VARCHAR
);
CREATE TABLE pg.pg_indexes (
    schemaname VARCHAR, tablename VARCHAR, indexname VARCHAR, tablespace VARCHAR, indexdef
    VARCHAR
);
CREATE TABLE pg.pg_inherits (
    inhrelid UINTEGER, inhparent UINTEGER, inhseqno INTEGER, inhdetachpending BOOLEAN
);
CREATE TABLE pg.pg_language (
    oid UINTEGER, lanname VARCHAR, lanowner UINTEGER, lanispl BOOLEAN, lanpltrusted BOOLEAN,
    lanplcallfoid UINTEGER, laninline UINTEGER, lanvalidator UINTEGER, lanacl VARCHAR[]
);
CREATE TABLE pg.pg_locks (
    locktype VARCHAR, database UINTEGER, relation UINTEGER, page INTEGER, tuple SMALLINT,
    virtualxid VARCHAR, transactionid BIGINT, classid UINTEGER, objid UINTEGER, objsubid
    SMALLINT, virtualtransaction VARCHAR, pid INTEGER, mode VARCHAR, granted BOOLEAN, fastpath
    BOOLEAN, waitstart TIMESTAMP WITH TIME ZONE
);
CREATE TABLE pg.pg_matviews (
    schemaname VARCHAR, matviewname VARCHAR, matviewowner VARCHAR, tablespace VARCHAR,
    hasindexes BOOLEAN, ispopulated BOOLEAN, definition VARCHAR
);
CREATE TABLE pg.pg_namespace (
    oid UINTEGER, nspname VARCHAR, nspowner UINTEGER, nspacl VARCHAR[]
);
CREATE TABLE pg.pg_opclass (
    tableoid UINTEGER,
    oid UINTEGER, opcmethod UINTEGER, opcname VARCHAR, opcnamespace UINTEGER, opcowner UINTEGER,
    opcfamily UINTEGER, opcintype UINTEGER, opcdefault BOOLEAN, opckeytype UINTEGER
);
CREATE TABLE pg.pg_opfamily (
    tableoid UINTEGER,
    oid UINTEGER, opfmethod UINTEGER, opfname VARCHAR, opfnamespace UINTEGER, opfowner UINTEGER
);
CREATE TABLE pg.pg_operator (
    oid UINTEGER, oprname VARCHAR, oprnamespace UINTEGER, oprowner UINTEGER, oprkind VARCHAR,
    oprcanmerge BOOLEAN, oprcanhash BOOLEAN, oprleft UINTEGER, oprright UINTEGER, oprresult
    UINTEGER, oprcom UINTEGER, oprnegate UINTEGER, oprcode VARCHAR, oprrest VARCHAR, oprjoin
    VARCHAR
);
CREATE TABLE pg.pg_partitioned_table (
    partrelid UINTEGER, partstrat VARCHAR, partnatts SMALLINT, partdefid UINTEGER, partattrs
    SMALLINT[], partclass UINTEGER[], partcollation UINTEGER[], partexprs VARCHAR
);
CREATE TABLE pg.pg_policies (
    schemaname VARCHAR, tablename VARCHAR, policyname VARCHAR, permissive VARCHAR, roles
    VARCHAR[], cmd VARCHAR, qual VARCHAR, with_check VARCHAR
);
CREATE TABLE pg.pg_policy (
    oid UINTEGER, polname VARCHAR, polrelid UINTEGER, polcmd VARCHAR, polpermissive BOOLEAN,
    polroles UINTEGER[], polqual VARCHAR, polwithcheck VARCHAR
);
CREATE TABLE pg.pg_proc (
    oid UINTEGER, proname VARCHAR, pronamespace UINTEGER, proowner UINTEGER, prolang UINTEGER,
    procost FLOAT, prorows FLOAT, provariadic UINTEGER, prosupport VARCHAR, prokind VARCHAR,
    prosecdef BOOLEAN, proleakproof BOOLEAN, proisstrict BOOLEAN, proretset BOOLEAN, provolatile
    VARCHAR, proparallel VARCHAR, pronargs SMALLINT, pronargdefaults SMALLINT, prorettype
    UINTEGER, proargtypes UINTEGER[], proallargtypes UINTEGER[], proargmodes VARCHAR[],
    proargnames VARCHAR[], proargdefaults VARCHAR, protrftypes UINTEGER[], prosrc VARCHAR,
    probin VARCHAR, prosqlbody VARCHAR, proconfig VARCHAR[], proacl VARCHAR[]
);
CREATE TABLE pg.pg_publication (
    oid UINTEGER, pubname VARCHAR, pubowner UINTEGER, puballtables BOOLEAN, pubinsert BOOLEAN,
    pubupdate BOOLEAN, pubdelete BOOLEAN, pubtruncate BOOLEAN, pubviaroot BOOLEAN
);
CREATE TABLE pg.pg_publication_namespace (
    oid UINTEGER, pnpubid UINTEGER, pnnspid UINTEGER
);
CREATE TABLE pg.pg_publication_rel (
    oid UINTEGER, prpubid UINTEGER, prrelid UINTEGER, prqual VARCHAR, prattrs SMALLINT[]
);
CREATE TABLE pg.pg_publication_tables (
    pubname VARCHAR, schemaname VARCHAR, tablename VARCHAR, attnames VARCHAR[], rowfilter
    VARCHAR
);
CREATE TABLE pg.pg_range (
    rngtypid UINTEGER, rngsubtype UINTEGER, rngmultitypid UINTEGER, rngcollation UINTEGER,
    rngsubopc UINTEGER, rngcanonical VARCHAR, rngsubdiff VARCHAR
);
CREATE TABLE pg.pg_rewrite (
    tableoid UINTEGER,
    oid UINTEGER, rulename VARCHAR, ev_class UINTEGER, ev_type VARCHAR, ev_enabled VARCHAR,
    is_instead BOOLEAN, ev_qual VARCHAR, ev_action VARCHAR
);
CREATE TABLE pg.pg_roles (
    rolname VARCHAR, rolsuper BOOLEAN, rolinherit BOOLEAN, rolcreaterole BOOLEAN, rolcreatedb
    BOOLEAN, rolcanlogin BOOLEAN, rolreplication BOOLEAN, rolconnlimit INTEGER, rolpassword
    VARCHAR, rolvaliduntil TIMESTAMP WITH TIME ZONE, rolbypassrls BOOLEAN, rolconfig VARCHAR[],
    oid UINTEGER
);
CREATE TABLE pg.pg_rules (
    schemaname VARCHAR, tablename VARCHAR, rulename VARCHAR, definition VARCHAR
);
CREATE TABLE pg.pg_sequence (
    seqrelid UINTEGER, seqtypid UINTEGER, seqstart BIGINT, seqincrement BIGINT, seqmax BIGINT,
    seqmin BIGINT, seqcache BIGINT, seqcycle BOOLEAN
);
CREATE TABLE pg.pg_sequences (
    schemaname VARCHAR, sequencename VARCHAR, sequenceowner VARCHAR, data_type VARCHAR,
    start_value BIGINT, min_value BIGINT, max_value BIGINT, increment_by BIGINT, "cycle"
    BOOLEAN, cache_size BIGINT, last_value BIGINT
);
CREATE TABLE pg.pg_settings (
    name VARCHAR, setting VARCHAR, unit VARCHAR, category VARCHAR, short_desc VARCHAR,
    extra_desc VARCHAR, context VARCHAR, vartype VARCHAR, source VARCHAR, min_val VARCHAR,
    max_val VARCHAR, enumvals VARCHAR[], boot_val VARCHAR, reset_val VARCHAR, sourcefile
    VARCHAR, sourceline INTEGER, pending_restart BOOLEAN
);
CREATE TABLE pg.pg_shdescription (
    objoid UINTEGER, classoid UINTEGER, description VARCHAR
);
CREATE TABLE pg.pg_stat_activity (
    datid UINTEGER, datname VARCHAR, pid INTEGER, leader_pid INTEGER, usesysid UINTEGER, usename
    VARCHAR, application_name VARCHAR, client_addr VARCHAR, client_hostname VARCHAR, client_port
    INTEGER, backend_start TIMESTAMP WITH TIME ZONE, xact_start TIMESTAMP WITH TIME ZONE,
    query_start TIMESTAMP WITH TIME ZONE, state_change TIMESTAMP WITH TIME ZONE, wait_event_type
    VARCHAR, wait_event VARCHAR, state VARCHAR, backend_xid BIGINT, backend_xmin BIGINT,
    query_id BIGINT, query VARCHAR, backend_type VARCHAR
);
CREATE TABLE pg.pg_stat_user_tables (
    relid UINTEGER, schemaname VARCHAR, relname VARCHAR, seq_scan BIGINT, seq_tup_read BIGINT,
    idx_scan BIGINT, idx_tup_fetch BIGINT, n_tup_ins BIGINT, n_tup_upd BIGINT, n_tup_del BIGINT,
    n_tup_hot_upd BIGINT, n_live_tup BIGINT, n_dead_tup BIGINT, n_mod_since_analyze BIGINT,
    n_ins_since_vacuum BIGINT, last_vacuum TIMESTAMP WITH TIME ZONE, last_autovacuum TIMESTAMP
    WITH TIME ZONE, last_analyze TIMESTAMP WITH TIME ZONE, last_autoanalyze TIMESTAMP WITH TIME
    ZONE, vacuum_count BIGINT, autovacuum_count BIGINT, analyze_count BIGINT, autoanalyze_count
    BIGINT
);
CREATE TABLE pg.pg_statistic_ext (
    oid UINTEGER, stxrelid UINTEGER, stxname VARCHAR, stxnamespace UINTEGER, stxowner UINTEGER,
    stxstattarget INTEGER, stxkeys SMALLINT[], stxkind VARCHAR[], stxexprs VARCHAR
);
CREATE TABLE pg.pg_stats (
    schemaname VARCHAR, tablename VARCHAR, attname VARCHAR, inherited BOOLEAN, null_frac FLOAT,
    avg_width INTEGER, n_distinct FLOAT, most_common_vals VARCHAR, most_common_freqs FLOAT[],
    histogram_bounds VARCHAR, correlation FLOAT, most_common_elems VARCHAR,
    most_common_elem_freqs FLOAT[], elem_count_histogram FLOAT[]
);
CREATE TABLE pg.pg_subscription (
    oid UINTEGER, subdbid UINTEGER, subskiplsn VARCHAR, subname VARCHAR, subowner UINTEGER,
    subenabled BOOLEAN, subbinary BOOLEAN, substream BOOLEAN, subtwophasestate VARCHAR,
    subdisableonerr BOOLEAN, subconninfo VARCHAR, subslotname VARCHAR, subsynccommit VARCHAR,
    subpublications VARCHAR[]
);
CREATE TABLE pg.pg_tables (
    schemaname VARCHAR, tablename VARCHAR, tableowner VARCHAR, tablespace VARCHAR, hasindexes
    BOOLEAN, hasrules BOOLEAN, hastriggers BOOLEAN, rowsecurity BOOLEAN
);
CREATE TABLE pg.pg_tablespace (
    oid UINTEGER, spcname VARCHAR, spcowner UINTEGER, spcacl VARCHAR[], spcoptions VARCHAR[]
);
CREATE TABLE pg.pg_timezone_names (
    name VARCHAR, abbrev VARCHAR, utc_offset INTERVAL, is_dst BOOLEAN
);
CREATE TABLE pg.pg_trigger (
    tableoid UINTEGER,
    oid UINTEGER, tgrelid UINTEGER, tgparentid UINTEGER, tgname VARCHAR, tgfoid UINTEGER, tgtype
    SMALLINT, tgenabled VARCHAR, tgisinternal BOOLEAN, tgconstrrelid UINTEGER, tgconstrindid
    UINTEGER, tgconstraint UINTEGER, tgdeferrable BOOLEAN, tginitdeferred BOOLEAN, tgnargs
    SMALLINT, tgattr SMALLINT[], tgargs BLOB, tgqual VARCHAR, tgoldtable VARCHAR, tgnewtable
    VARCHAR
);
CREATE TABLE pg.pg_type (
    oid UINTEGER, typname VARCHAR, typnamespace UINTEGER, typowner UINTEGER, typlen SMALLINT,
    typbyval BOOLEAN, typtype VARCHAR, typcategory VARCHAR, typispreferred BOOLEAN, typisdefined
    BOOLEAN, typdelim VARCHAR, typrelid UINTEGER, typsubscript VARCHAR, typelem UINTEGER,
    typarray UINTEGER, typinput VARCHAR, typoutput VARCHAR, typreceive VARCHAR, typsend VARCHAR,
    typmodin VARCHAR, typmodout VARCHAR, typanalyze VARCHAR, typalign VARCHAR, typstorage
    VARCHAR, typnotnull BOOLEAN, typbasetype UINTEGER, typtypmod INTEGER, typndims INTEGER,
    typcollation UINTEGER, typdefaultbin VARCHAR, typdefault VARCHAR, typacl VARCHAR[]
);
CREATE TABLE pg.pg_user (
    usename VARCHAR, usesysid UINTEGER, usecreatedb BOOLEAN, usesuper BOOLEAN, userepl BOOLEAN,
    usebypassrls BOOLEAN, passwd VARCHAR, valuntil TIMESTAMP WITH TIME ZONE, useconfig VARCHAR[]
);
CREATE TABLE pg.pg_user_mappings (
    umid UINTEGER, srvid UINTEGER, srvname VARCHAR, umuser UINTEGER, usename VARCHAR, umoptions
    VARCHAR[]
);
CREATE TABLE pg.pg_views (
    schemaname VARCHAR, viewname VARCHAR, viewowner VARCHAR, definition VARCHAR
);
CREATE TABLE pg.served (oid UINTEGER, relname VARCHAR, comment VARCHAR);
CREATE TABLE pg.served_columns (
    attrelid UINTEGER, attnum SMALLINT, attname VARCHAR, atttypid UINTEGER, attlen SMALLINT,
    atttypmod INTEGER, comment VARCHAR
);
CREATE TABLE pg.served_types (
    oid UINTEGER, typname VARCHAR, typlen SMALLINT, typcategory VARCHAR, typelem UINTEGER,
    typarray UINTEGER, shown VARCHAR
);
CREATE TABLE pg.served_as (database VARCHAR, role VARCHAR);
CREATE VIEW pg.shown_types AS
SELECT oid, typname, shown FROM pg.served_types;
