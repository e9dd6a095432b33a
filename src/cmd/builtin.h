/*
 * builtin.h - the commands.
 *
 * To add one:
 *
 *   1. a file cmd_x.c here with `int cmd_x(int argc, char **argv)`, which
 *      returns the exit code (command.h has the codes); argv[0] is its name;
 *   2. in it a table of options (options.h), from which --help comes;
 *   3. its declaration below, its row in main.c, its file in meson.build;
 *   4. its manual page man/inferscope-x.1, which tests/cli/check-man.py
 *      compares with --help.
 */
#ifndef CMD_BUILTIN_H
#define CMD_BUILTIN_H

int cmd_analyze(int argc, char **argv);
int cmd_config(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_monitor(int argc, char **argv);
int cmd_query(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_recover(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_trim(int argc, char **argv);
int cmd_view(int argc, char **argv);

#endif
