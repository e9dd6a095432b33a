/* A library without InitializeInjection. */
extern int nothing_of_interest;
int nothing_of_interest __attribute__((visibility("default")));
