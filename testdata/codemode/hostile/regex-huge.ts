// expect: exception worker-exit timeout ok
return new RegExp("a{1000}{1000}{1000}").test("a");
