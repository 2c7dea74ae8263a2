// expect: exception
throw null;
