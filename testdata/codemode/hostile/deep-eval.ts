// expect: exception worker-exit timeout
return eval("(".repeat(2e6));
