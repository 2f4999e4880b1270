"""Word lists of both languages: a value is taken only when it is the kind of word its slot is about."""

from mex_pipeline.rules_extractor.value import listed

TECHNOLOGIES = listed(
    """
    Ada, Assembly, Bash, C, C#, C++, Clojure, COBOL, CSS, CUDA, Dart, Elixir, Elm, Erlang, F#, Fortran, Go, Golang,
    Groovy, Haskell, HTML, Java, JavaScript, JS, Julia, Kotlin, Lisp, Lua, MATLAB, Nim, Objective-C, OCaml, Perl, PHP,
    PowerShell, Prolog, Python, R, Racket, Ruby, Rust, Scala, Scheme, Shell, Solidity, SQL, Swift, TypeScript, TS, VHDL,
    Verilog, WebAssembly, Zig, Angular, Ansible, Apache Spark, AWS, Azure, Cassandra, ClickHouse, Django, Docker,
    Elasticsearch, Electron, Excel, Express, FastAPI, Figma, Flask, Flink, Flutter, GCP, Git, GraphQL, gRPC, Hadoop,
    Helm, Hive, Jenkins, Kafka, Keras, Kubernetes, K8s, LangChain, Laravel, LaTeX, Linux, MongoDB, MySQL, NestJS,
    Next.js, Nginx, Node, Node.js, NumPy, Nuxt, OpenCV, OpenGL, Oracle, Pandas, Photoshop, PostgreSQL, Postgres,
    Power BI, PySpark, PyTorch, Qt, RabbitMQ, Rails, React, React Native, Redis, ROS, Ruby on Rails, Scikit-learn,
    Snowflake, Spark, Spring, Spring Boot, SQLite, Svelte, Tableau, TensorFlow, Terraform, Three.js, Unity, Unreal,
    Unreal Engine, Vue, Vue.js, WebGL
    """
)
"""What `work.tech_stack` takes: anything else that is learned or used is no technology."""

PROGRAMS = TECHNOLOGIES | listed(
    """
    Emacs, Vim, Neovim, VS Code, VSCode, IntelliJ, PyCharm, Xcode, Slack, Teams, Zoom, Jira, Notion, Obsidian, Gmail,
    Outlook, Chrome, Firefox, Safari, Discord, Word, PowerPoint, GitHub, GitLab, Confluence, Trello, tmux, Minecraft,
    Google Docs, Google Sheets, Windows, macOS, Android, iOS
    """
)
"""What people also say that they live in, come from or call, and that is no town and no person."""

LANGUAGES = listed(
    """
    Arabic, Bengali, Cantonese, Chinese, Czech, Danish, Dutch, English, Esperanto, Finnish, French, German, Greek,
    Hebrew, Hindi, Hungarian, Indonesian, Irish, Italian, Japanese, Korean, Latin, Malay, Mandarin, Norwegian, Persian,
    Polish, Portuguese, Romanian, Russian, Sign Language, Spanish, Swahili, Swedish, Tamil, Thai, Turkish, Ukrainian,
    Urdu, Vietnamese, Welsh, Brazilian Portuguese, Mandarin Chinese, 阿拉伯语, 阿拉伯文, 白俄罗斯语, 波兰语, 波斯语,
    德语, 德文, 俄语, 俄文, 法语, 法文, 芬兰语, 广东话, 国语, 韩语, 韩文, 汉语, 荷兰语, 捷克语, 拉丁语, 马来语, 闽南语,
    挪威语, 葡萄牙语, 葡语, 普通话, 日语, 日文, 瑞典语, 手语, 泰语, 土耳其语, 乌克兰语, 西班牙语, 西语, 希伯来语,
    希腊语, 匈牙利语, 意大利语, 印地语, 印尼语, 英语, 英文, 越南语, 粤语, 中文, 四川话, 上海话, 客家话
    """
)
"""What `edu.language` takes."""


def is_technology(text: str) -> bool:
    """True for a known technology, in any case."""
    return text.lower() in TECHNOLOGIES


def is_language(text: str) -> bool:
    """True for a human language."""
    return text.lower() in LANGUAGES
