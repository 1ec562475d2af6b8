/* The macros of dbdeid as an extension of DuckDB, on its stable C API (v1.2.0).
 *
 * LOAD attaches an empty database in memory as `deid` and makes them in it, so that `deid.k(…)` finds
 * them from every connection, and nothing is written to a database of the user, which may be
 * read-only. They are gone with the process, as is what is put into `deid.hierarchies`.
 *
 * It refuses where `deid` is taken: a database is attached under the name, or the database that was
 * opened has a schema of that name, whose `deid.x` would no longer be found. What is there stays.
 */
#include <stdio.h>

#include "duckdb_extension.h"
#include "macros.h"

DUCKDB_EXTENSION_EXTERN

static const char FAILED[] =
    "dbdeid keeps its macros in a database in memory that it attaches as deid, and could not make it; "
    "nothing was changed. If the name deid is taken: DETACH the database that has it, or use the "
    "macros of your schema deid as they are, without LOAD";

/* Runs statements; where one fails, the load fails with its error. */
static bool run(duckdb_connection connection, duckdb_extension_info info,
                struct duckdb_extension_access *access, const char *statements) {
	duckdb_result result;
	bool done = duckdb_query(connection, statements, &result) == DuckDBSuccess;
	if (!done) {
		const char *error = duckdb_result_error(&result);
		char message[2048];
		snprintf(message, sizeof message, "%s (%s)", FAILED, error ? error : "no reason given");
		access->set_error(info, message);
	}
	duckdb_destroy_result(&result);
	return done;
}

DUCKDB_EXTENSION_ENTRYPOINT(duckdb_connection connection, duckdb_extension_info info,
                            struct duckdb_extension_access *access) {
	/* said to be writable: else it is opened as the user's database is */
	if (!run(connection, info, access, "ATTACH ':memory:' AS deid (READ_WRITE)")) {
		return false;
	}
	if (!run(connection, info, access, macros)) {
		/* one by one: of what DuckDB could not read, not even BEGIN was run */
		duckdb_query(connection, "ROLLBACK", NULL);
		duckdb_query(connection, "DETACH deid", NULL);
		return false;
	}
	return true;
}
