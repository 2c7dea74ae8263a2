// expect: timeout
await { then(resolve: any) { for (;;) {} } };
