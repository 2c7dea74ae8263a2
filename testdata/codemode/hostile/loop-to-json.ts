// expect: timeout
JSON.stringify({ toJSON() { for (;;) {} } });
