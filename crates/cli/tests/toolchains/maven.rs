//! Maven in every kind of sandbox. Its plugins come from Debian, so `cargo xtask matrix` runs this.

use crate::matrix::{ToolchainCase, check};
use crate::user::RunAs;

/// With the plugins and the repository of Debian's packages; `cargo xtask matrix` installs them.
const MAVEN: ToolchainCase = ToolchainCase {
    files: &[
        (
            "pom.xml",
            r#"<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>org.example</groupId><artifactId>tiny</artifactId><version>1</version>
<properties><maven.compiler.source>11</maven.compiler.source><maven.compiler.target>11</maven.compiler.target>
<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
<dependencies><dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.x</version>
<scope>test</scope></dependency></dependencies></project>
"#,
        ),
        (
            "src/main/java/Two.java",
            "public class Two {\n    static int two() { return 2; }\n}\n",
        ),
        (
            "src/test/java/TwoTest.java",
            "import org.junit.Assert;\nimport org.junit.Test;\n\npublic class TwoTest {\n    @Test\n    public void isTwo() { Assert.assertEquals(2, Two.two()); }\n}\n",
        ),
        (".gitignore", "target/\n"),
    ],
    commands: &[
        "mvn -o -q -s /etc/maven/settings-debian.xml -Dmaven.repo.local=/usr/share/maven-repo test",
    ],
    written: &["target/classes/Two.class"],
    install: |_, _| Vec::new(),
};

#[test]
fn maven_works_in_every_sandbox() {
    check(&MAVEN, RunAs::Same);
}

#[test]
fn maven_works_in_every_sandbox_for_an_ordinary_user() {
    check(&MAVEN, RunAs::Ordinary);
}
