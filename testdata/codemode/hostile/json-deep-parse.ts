// expect: worker-exit timeout exception
JSON.parse("[".repeat(5e6));
