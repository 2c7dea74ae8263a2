// expect: timeout
throw { toString() { for (;;) {} } };
