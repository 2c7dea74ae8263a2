// expect: timeout
try { for (;;) {} } finally { for (;;) {} }
