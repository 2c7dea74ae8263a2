// expect: exception
return 1;
}); while (true) {} (async () => {
