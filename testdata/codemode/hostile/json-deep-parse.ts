// expect: exception
JSON.parse("[".repeat(5e6));
