// expect: timeout
new Function("for (;;) {}")();
