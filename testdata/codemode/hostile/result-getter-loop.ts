// expect: timeout
return { get a() { for (;;) {} } };
