{#- What hooks may do to a release after it was measured: grant, or copy it, and nothing else. -#}

{#- What hooks did to a released table, in words; none where it is as it was measured. -#}
{% macro done_by_hooks(relation, measured, plan) %}
  {% set beside = deid.beside_rows(relation) %}
  {% if beside %}{{ return(beside | unique | join(', ')) }}{% endif %}
  {% set columns = plan.columns.keys() | list %}
  {% if deid._of_columns(deid.types_of(relation), deid._without_subject(plan)) %}
    {{ return('its columns are others') }}
  {% endif %}
  {% if deid._changed_records(relation, measured, columns) %}
    {{ return('its records are others') }}
  {% endif %}
  {{ return('its records are in another order' if deid._disordered(relation, columns) else none) }}
{% endmacro %}

{% macro _changed_records(relation, measured, columns) %}
  {% set query %}
    SELECT COUNT(*)
    FROM (
      SELECT 1 AS deid_one
      FROM (
        {%- for one, sign in [(relation, '1'), (measured, '-1')] %}
        SELECT
          {%- for name in deid.found(one, columns, one.identifier) %}
          {{ name }} AS deid_c{{ loop.index0 }},
          {%- endfor %}
          {{ sign }} AS deid_sign
        FROM {{ one }}
        {{ 'UNION ALL' if not loop.last }}
        {%- endfor %}
      ) AS deid_both
      GROUP BY {% for _ in columns %}deid_c{{ loop.index0 }}{{ ', ' if not loop.last }}{% endfor %}
      HAVING SUM(deid_sign) <> 0
    ) AS deid_changed
  {% endset %}
  {{ return(run_query(query).rows[0][0] | int > 0) }}
{% endmacro %}

{#- Whether the rows lie in another order than that of their values. -#}
{% macro _disordered(relation, columns) %}
  {% set place = deid.place_of_row() %}
  {% if place is none %}{{ return(false) }}{% endif %}
  {% set names = deid.found(relation, columns, relation.identifier) %}
  {% set query %}
    SELECT COUNT(*)
    FROM (
      SELECT deid_rank, LAG(deid_rank) OVER (ORDER BY deid_place) AS deid_before
      FROM (
        SELECT {{ place }} AS deid_place, RANK() OVER (ORDER BY {{ deid._listed(names) }}) AS deid_rank
        FROM {{ relation }}
      ) AS deid_ranked
    ) AS deid_neighbours
    WHERE deid_before > deid_rank
  {% endset %}
  {{ return(run_query(query).rows[0][0] | int > 0) }}
{% endmacro %}

{#- The column by which a database tells where a row lies; none where it tells nobody. -#}
{% macro place_of_row() %}
  {{ return(adapter.dispatch('place_of_row', 'deid')()) }}
{% endmacro %}

{% macro default__place_of_row() %}{{ return(none) }}{% endmacro %}
{% macro duckdb__place_of_row() %}{{ return('rowid') }}{% endmacro %}
{% macro postgres__place_of_row() %}{{ return('ctid') }}{% endmacro %}
{% macro redshift__place_of_row() %}{{ return(none) }}{% endmacro %}

{#- What stands beside the rows of a table, where readers see it, or what is no table: in words. -#}
{% macro beside_rows(relation) %}
  {{ return(adapter.dispatch('beside_rows', 'deid')(relation)) }}
{% endmacro %}

{#- Of others nothing is known that all of them have. -#}
{% macro default__beside_rows(relation) %}{{ return([]) }}{% endmacro %}
{% macro redshift__beside_rows(relation) %}{{ return([]) }}{% endmacro %}

{% macro duckdb__beside_rows(relation) %}
  {% set here %}
    database_name = {{ deid.literal(relation.database) }}
    AND schema_name = {{ deid.literal(relation.schema) }}
  {% endset %}
  {% set named = here ~ ' AND table_name = ' ~ deid.literal(relation.identifier) %}
  {% set query %}
    SELECT 'it is no table' AS deid_said
    WHERE NOT EXISTS (FROM duckdb_tables() WHERE {{ named }})
    UNION ALL
    SELECT 'it has a comment' FROM duckdb_tables() WHERE {{ named }} AND comment IS NOT NULL
    UNION ALL
    SELECT 'a column has a comment' FROM duckdb_columns() WHERE {{ named }} AND comment IS NOT NULL
    UNION ALL
    SELECT 'a column has a default value'
    FROM duckdb_columns() WHERE {{ named }} AND column_default IS NOT NULL
    UNION ALL
    SELECT 'it has a constraint' FROM duckdb_constraints() WHERE {{ named }}
    UNION ALL
    {# a table with one cannot be renamed, so that the next build would fail #}
    SELECT 'it has an index' FROM duckdb_indexes() WHERE {{ named }}
  {% endset %}
  {{ return(run_query(query).columns[0].values() | list) }}
{% endmacro %}

{% macro postgres__beside_rows(relation) %}
  {% set query %}
    WITH deid_own AS (
      SELECT tables.oid, tables.relkind, tables.relispartition
      FROM pg_catalog.pg_class AS tables
      JOIN pg_catalog.pg_namespace AS schemas ON schemas.oid = tables.relnamespace
      WHERE tables.relname = {{ deid.literal(relation.identifier) }}
        AND schemas.nspname = {{ deid.literal(relation.schema) }}
    )
    SELECT 'it is no table' AS deid_said
    WHERE NOT EXISTS (SELECT 1 FROM deid_own WHERE relkind = 'r' AND NOT relispartition)
    UNION ALL
    SELECT 'it has a comment' FROM pg_catalog.pg_description
    WHERE objoid IN (SELECT oid FROM deid_own) AND classoid = 'pg_catalog.pg_class'::regclass
    UNION ALL
    SELECT 'a column has a default value' FROM pg_catalog.pg_attrdef
    WHERE adrelid IN (SELECT oid FROM deid_own)
    UNION ALL
    SELECT 'it has a constraint' FROM pg_catalog.pg_constraint
    WHERE conrelid IN (SELECT oid FROM deid_own)
    UNION ALL
    SELECT 'it has a rule' FROM pg_catalog.pg_rewrite WHERE ev_class IN (SELECT oid FROM deid_own)
    UNION ALL
    SELECT 'it has a trigger' FROM pg_catalog.pg_trigger
    WHERE tgrelid IN (SELECT oid FROM deid_own)
    UNION ALL
    SELECT 'it shares its rows with another' FROM pg_catalog.pg_inherits
    WHERE inhrelid IN (SELECT oid FROM deid_own) OR inhparent IN (SELECT oid FROM deid_own)
    UNION ALL
    SELECT 'it has an index of more than columns' FROM pg_catalog.pg_index
    WHERE indrelid IN (SELECT oid FROM deid_own)
      AND (indexprs IS NOT NULL OR indpred IS NOT NULL)
  {% endset %}
  {{ return(run_query(query).columns[0].values() | list) }}
{% endmacro %}

{#- Takes away what stands under the name of a release, whatever hooks made of it. -#}
{% macro drop_whatever(relation) %}
  {% for kind in ['view', 'table'] %}
    {% do adapter.drop_relation(relation.incorporate(type=kind))
      if deid.is_kind(relation, kind) %}
  {% endfor %}
{% endmacro %}

{% macro is_kind(relation, kind) %}
  {{ return(adapter.dispatch('is_kind', 'deid')(relation, kind)) }}
{% endmacro %}

{% macro default__is_kind(relation, kind) %}{{ return(kind == 'table') }}{% endmacro %}
{% macro duckdb__is_kind(relation, kind) %}{{ return(deid._is_listed(relation, kind)) }}{% endmacro %}
{% macro postgres__is_kind(relation, kind) %}{{ return(deid._is_listed(relation, kind)) }}{% endmacro %}
{% macro redshift__is_kind(relation, kind) %}{{ return(kind == 'table') }}{% endmacro %}

{% macro _is_listed(relation, kind) %}
  {% set query %}
    SELECT COUNT(*)
    FROM information_schema.tables
    WHERE table_catalog = {{ deid.literal(relation.database) }}
      AND table_schema = {{ deid.literal(relation.schema) }}
      AND table_name = {{ deid.literal(relation.identifier) }}
      AND table_type {{ '=' if kind == 'view' else '<>' }} 'VIEW'
  {% endset %}
  {{ return(run_query(query).rows[0][0] | int > 0) }}
{% endmacro %}

{% macro _without_subject(plan) %}
  {% set released = {} %}
  {% do released.update(plan) %}
  {% do released.update({'subject': none}) %}
  {{ return(released) }}
{% endmacro %}
