// expect: timeout
eval("for (;;) {}");
