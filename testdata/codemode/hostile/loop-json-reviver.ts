// expect: timeout
JSON.parse("[1,2,3]", () => { for (;;) {} });
