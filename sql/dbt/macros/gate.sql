{#- The gate of a release as a model declares it. -#}

{#- The gate that a model declares, in `config(deid={…})` or in `config: {meta: {deid: {…}}}`: which
    seed has the plan, and which relation has the records that the plan is for. Stops where the
    model does not read both, and where its materialization would let something by. -#}
{% macro declared_gate(model) %}
  {% set where = 'deid_release, model ' ~ model.name %}
  {% set gate = deid.gate_of(model, where) %}
  {% if gate is none or gate is not mapping %}
    {% do deid.stop(
      where ~ ': no gate is declared, and without one nothing is released',
      "config(meta={'deid': {'policy': 'visits_policy', 'source': 'visits'}}), which `dbdeid dbt plan` prints"
    ) %}
  {% endif %}
  {% for key in gate if key in ['quasi_identifiers', 'k', 'subject', 'l_diversity', 't_closeness',
    'released_as_is', 'direct_identifiers'] %}
    {% do deid.stop(
      where ~ ': ' ~ key ~ ' is what the plan says, not the model',
      'write the plan anew with `dbdeid dbt plan`, and take the model that it prints'
    ) %}
  {% endfor %}
  {% do deid.known_keys(gate, ['policy', 'source', 'incremental'], where) %}
  {% if gate.get('incremental', false) is not boolean %}
    {% do deid.stop(where ~ ': incremental is true or false', 'leave it out for false') %}
  {% endif %}
  {% do deid._require_measurable(model, where) %}
  {% set source = deid._read_by(model, gate.get('source'), 'source', where) %}
  {% set policy = deid._read_by(model, gate.get('policy'), 'policy', where) %}
  {% if policy.resource_type != 'seed' %}
    {% do deid.stop(
      where ~ ': ' ~ gate.policy ~ ' is no seed, and only a seed is a plan that is reviewed',
      'write it with `dbdeid dbt plan`'
    ) %}
  {% endif %}
  {% if source.config.materialized == 'ephemeral' %}
    {% do deid.stop(
      where ~ ': ' ~ gate.source ~ ' is ephemeral, so that its records cannot be compared with',
      'materialize it as a view or a table'
    ) %}
  {% endif %}
  {{ return({
    'where': where,
    'policy': deid.relation_of(policy),
    'source': deid.whole(deid.relation_of(source)),
    'incremental': gate.get('incremental', false),
  }) }}
{% endmacro %}

{#- What a model declares; none where it declares nothing. -#}
{% macro gate_of(model, where) %}
  {% set own = model.config.get('deid') %}
  {% set meta = (model.config.get('meta') or {}).get('deid') %}
  {% if own is not none and meta is not none %}
    {% do deid.stop(where ~ ': two gates are declared', 'keep `deid` or `meta: {deid: …}`') %}
  {% endif %}
  {{ return(meta if own is none else own) }}
{% endmacro %}

{#- Stops where what dbt does beside the query would not be measured. -#}
{% macro _require_measurable(model, where) %}
  {% set config = model.config %}
  {% if (config.get('contract') or {}).get('enforced') %}
    {% do deid.stop(
      where ~ ': a contract writes constraints into the table, which nothing measures',
      'drop the contract: the plan says the columns and their types, and the gate checks them'
    ) %}
  {% endif %}
  {% for hook in config.get('post-hook') or [] if not hook.get('transaction', true) %}
    {% do deid.stop(
      where ~ ': a post-hook outside of the transaction runs when the gate has closed behind it',
      'leave out `transaction: false`, or do it in `on-run-end`'
    ) %}
  {% endfor %}
  {% for key in ['unique_key', 'incremental_strategy'] if config.get(key) %}
    {% do deid.stop(
      where ~ ': ' ~ key ~ ' needs records that can be told apart, and a release has none',
      "drop it; meta={'deid': {…, 'incremental': true}} adds records"
    ) %}
  {% endfor %}
{% endmacro %}

{#- The node of a name that a model reads. -#}
{% macro _read_by(model, name, key, where) %}
  {% if name is not string %}
    {% do deid.stop(
      where ~ ': the gate has no ' ~ key,
      "as in {'policy': 'visits_policy', 'source': 'visits'}, which `dbdeid dbt plan` prints"
    ) %}
  {% endif %}
  {% set found, read = [], [] %}
  {% for id in model.depends_on.nodes %}
    {% set node = graph.nodes.get(id) or graph.sources.get(id) %}
    {% if node %}
      {% do read.append(node.name) %}
      {% if node.name == name %}{% do found.append(node) %}{% endif %}
    {% endif %}
  {% endfor %}
  {% if found | length != 1 %}
    {% do deid.stop(
      where ~ ': the ' ~ key ~ ' of the gate is ' ~ name ~ ', which the model does not read'
        if not found else where ~ ': the model reads several relations of the name ' ~ name,
      'it reads ' ~ read | unique | join(', ') if read else 'it reads nothing by ref() or source()'
    ) %}
  {% endif %}
  {{ return(found[0]) }}
{% endmacro %}

{% macro relation_of(node) %}
  {{ return(
    source(node.source_name, node.name) if node.resource_type == 'source'
    else ref(node.package_name, node.name, v=node.get('version'))
  ) }}
{% endmacro %}

{#- Whether a build adds records to a release that is there. Models that are declared `incremental`
    select the new ones where it is so. -#}
{% macro is_incremental() %}
  {% if not execute %}{{ return(false) }}{% endif %}
  {% set gate = deid.gate_of(model, 'model ' ~ model.name) or {} %}
  {% set existing = load_cached_relation(this) %}
  {{ return(
    gate.get('incremental', false) is sameas true and existing is not none
    and existing.type == 'table' and not should_full_refresh()
  ) }}
{% endmacro %}

{#- Stops where the records of a release could not be counted together with new ones. -#}
{% macro require_countable(gate, plan) %}
  {% if gate.incremental and plan.subject is not none and plan.subject not in plan.columns %}
    {% do deid.stop(
      gate.where ~ ', incremental: the release does not have ' ~ plan.subject
        ~ ', so that nobody can count whose records are there already',
      'leave out `incremental`, so that it is built whole'
    ) %}
  {% endif %}
{% endmacro %}

{#- Stops where a release that is there is not of the columns and types of a plan. -#}
{% macro require_addable(existing, gate, plan) %}
  {% set failures = deid._of_columns(deid.types_of(existing), plan) %}
  {% if failures %}
    {% do deid.stop(
      gate.where ~ ', incremental: the release that is there is not of this plan. '
        ~ failures | join('. '),
      'build it whole, with --full-refresh'
    ) %}
  {% endif %}
{% endmacro %}

{#- What a gate measures by, where a project or another package has put its own in the place: by
    the name of each, and whose it is. -#}
{% macro replaced() %}
  {% set found = {} %}
  {% for one in [
    adapter.dispatch('beside_rows', 'deid'),
    adapter.dispatch('class_closeness_equal', 'deid'),
    adapter.dispatch('class_closeness_ordered', 'deid'),
    adapter.dispatch('class_diversity', 'deid'),
    adapter.dispatch('class_sizes', 'deid'),
    adapter.dispatch('date_label', 'deid'),
    adapter.dispatch('double', 'deid'),
    adapter.dispatch('interval_label', 'deid'),
    adapter.dispatch('is_kind', 'deid'),
    adapter.dispatch('literal', 'deid'),
    adapter.dispatch('named', 'deid'),
    adapter.dispatch('place_of_row', 'deid'),
    adapter.dispatch('prefix_label', 'deid'),
    adapter.dispatch('quoted', 'deid'),
    adapter.dispatch('types_of', 'deid')
  ] if one.macro.package_name != 'deid' %}
    {% do found.update({one.macro.name: one.macro.package_name}) %}
  {% endfor %}
  {% set own = context.get(project_name) or {} %}
  {% for adapter_name in ['default', adapter.type()] %}
    {% set name = 'materialization_deid_release_' ~ adapter_name %}
    {% if name in own %}{% do found.update({name: project_name}) %}{% endif %}
  {% endfor %}
  {{ return(found) }}
{% endmacro %}

{#- Stops where something else measures than what was tried; on other databases that is told. -#}
{% macro _require_own_gate() %}
  {% set listed = [] %}
  {% for name, package in deid.replaced().items() %}
    {% do listed.append(name ~ ' (' ~ package ~ ')') %}
  {% endfor %}
  {% if listed and adapter.type() in ['duckdb', 'postgres'] %}
    {% do deid.stop(
      'nothing was run: macros take the place of those by which the gate of dbdeid measures: '
        ~ listed | sort | join(', '),
      'rename them, or drop them; on ' ~ adapter.type() ~ ' the gate needs none'
    ) %}
  {% elif listed %}
    {% do log('deid: the gate measures by ' ~ listed | sort | join(', '), info=true) %}
  {% endif %}
{% endmacro %}

{#- Stops a run of models that declare a gate and are materialized as something that has none. -#}
{% macro require_gates() %}
  {% set open, gated = [], [] %}
  {% for id in (selected_resources if execute else []) %}
    {% set node = graph.nodes.get(id) %}
    {% if node and node.resource_type in ['model', 'snapshot']
      and node.config.materialized != 'deid_release'
      and deid.gate_of(node, 'model ' ~ node.name) is not none %}
      {% do open.append(node.name ~ ' (' ~ node.config.materialized ~ ')') %}
    {% endif %}
    {% if node and node.config.materialized == 'deid_release' %}{% do gated.append(id) %}{% endif %}
  {% endfor %}
  {% if open %}
    {% do deid.stop(
      'nothing was run: these declare a gate of dbdeid and are materialized as something that has '
        ~ 'none: ' ~ open | sort | join(', '),
      "materialized='deid_release', and for increments meta={'deid': {…, 'incremental': true}}; "
        ~ 'or drop the declaration'
    ) %}
  {% endif %}
  {% if gated %}{% do deid._require_own_gate() %}{% endif %}
{% endmacro %}
